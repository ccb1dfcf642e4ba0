"""`vacancy simulate`"""

from __future__ import annotations

import asyncio
from pathlib import Path

from vacancy.commands.common import OUT, prepare
from vacancy.errors import UserError
from vacancy.model.terms import parse_campus, parse_term
from vacancy.simulator.run import serve_simulator


def simulate(
    config: Path | None, host: str, port: int, seed: int, scale: float, terms: str, campuses: str, churn: float
) -> int:
    prepare(config)
    try:
        term_list = [parse_term(term) for term in terms.split(",")]
        campus_list = [parse_campus(campus) for campus in campuses.split(",")]
    except ValueError as error:
        raise UserError("validation_failed", str(error)) from error
    asyncio.run(
        serve_simulator(
            host,
            port,
            seed=seed,
            scale=scale,
            terms=term_list,
            campuses=campus_list,
            openings_per_minute=churn,
            closings_per_minute=churn,
            say=lambda line: OUT.print(line, soft_wrap=True, markup=False),
        )
    )
    return 0
