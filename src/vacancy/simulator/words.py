"""The vocabulary of the invented catalogue. Nothing here names a real person, and no course text is copied."""

from __future__ import annotations

from typing import Final

SUBJECTS: Final = (
    ("010", "ACCOUNTING"), ("013", "AFRICAN LANGUAGES"), ("016", "AGRONOMY"), ("050", "AMERICAN STUDIES"),
    ("067", "ANIMAL BEHAVIOR"), ("070", "ANTHROPOLOGY"), ("078", "ARCHIVES AND RECORDS"), ("082", "ART HISTORY"),
    ("090", "INTERDISCIPLINARY SEMINAR"), ("105", "ASTRONOMY"), ("115", "BIOCHEMISTRY"), ("119", "BIOLOGICAL SCIENCE"),
    ("125", "BIOMEDICAL ENGINEERING"), ("136", "BUSINESS ANALYTICS"), ("155", "CHEMICAL ENGINEERING"),
    ("160", "CHEMISTRY"), ("165", "CHINESE"), ("175", "CINEMA STUDIES"), ("180", "CIVIL ENGINEERING"),
    ("190", "CLASSICS"), ("195", "COMPARATIVE LITERATURE"), ("198", "COMPUTER SCIENCE"), ("202", "CRIMINAL JUSTICE"),
    ("206", "DANCE"), ("220", "ECONOMICS"), ("225", "EDUCATION"), ("332", "ELECTRICAL ENGINEERING"),
    ("351", "CREATIVE WRITING"), ("355", "ACADEMIC WRITING"), ("358", "LITERATURES IN ENGLISH"),
    ("370", "ENTOMOLOGY"), ("374", "ENVIRONMENTAL POLICY"), ("375", "ENVIRONMENTAL SCIENCE"), ("377", "KINESIOLOGY"),
    ("390", "FINANCE"), ("400", "FOOD SCIENCE"), ("420", "FRENCH"), ("447", "GENETICS"), ("450", "GEOGRAPHY"),
    ("460", "GEOLOGY"), ("470", "GERMAN"), ("501", "HINDI"), ("506", "WORLD HISTORY"), ("510", "EUROPEAN HISTORY"),
    ("540", "INDUSTRIAL ENGINEERING"), ("547", "INFORMATION SYSTEMS"), ("560", "ITALIAN"), ("565", "JAPANESE"),
    ("574", "KOREAN"), ("575", "LABOR STUDIES"), ("580", "LATIN"), ("590", "LATIN AMERICAN STUDIES"),
    ("615", "LINGUISTICS"), ("620", "MANAGEMENT"), ("630", "MARKETING"), ("635", "MATERIALS SCIENCE"),
    ("640", "MATHEMATICS"), ("650", "MECHANICAL ENGINEERING"), ("670", "METEOROLOGY"), ("680", "MICROBIOLOGY"),
    ("694", "MOLECULAR BIOLOGY"), ("700", "MUSIC"), ("705", "NURSING"), ("709", "NUTRITION"), ("730", "PHILOSOPHY"),
    ("750", "PHYSICS"), ("776", "PLANT SCIENCE"), ("790", "POLITICAL SCIENCE"), ("810", "PORTUGUESE"),
    ("830", "PSYCHOLOGY"), ("832", "PUBLIC HEALTH"), ("840", "RELIGION"), ("860", "RUSSIAN"), ("910", "SOCIAL WORK"),
    ("920", "SOCIOLOGY"), ("940", "SPANISH"), ("960", "STATISTICS"), ("965", "THEATER"), ("971", "URBAN PLANNING"),
    ("988", "WOMEN'S STUDIES"),
)  # fmt: skip

SCHOOLS: Final = (
    ("01", "School of Arts and Sciences"),
    ("04", "School of Communication and Information"),
    ("07", "School of the Arts"),
    ("10", "School of Planning and Public Policy"),
    ("11", "School of Environmental and Biological Sciences"),
    ("14", "School of Engineering"),
    ("16", "Graduate School"),
    ("33", "School of Business"),
)

TITLE_OPENINGS: Final = (
    "INTRO TO", "FOUNDATIONS OF", "PRINCIPLES OF", "ADVANCED", "TOPICS IN", "METHODS OF", "HISTORY OF", "SEMINAR IN",
    "THEORY OF", "APPLIED", "MODERN", "COMPARATIVE", "READINGS IN", "ISSUES IN", "ELEMENTS OF", "WORKSHOP IN",
)  # fmt: skip

TITLE_SUBJECTS: Final = (
    "WIDGETS", "SYSTEMS", "NETWORKS", "RIVERS", "MARKETS", "MIGRATION", "POETRY", "PROOF", "SIGNALS", "SOILS",
    "ARCHIVES", "CITIES", "COGNITION", "COMPOSITION", "CLIMATE", "DATA", "DESIGN", "DIALOGUE", "ENERGY", "ETHICS",
    "FIELDS", "FORM", "GENES", "GOVERNANCE", "HARMONY", "INFERENCE", "JUSTICE", "LANGUAGE", "LIGHT", "MATERIALS",
    "MEMORY", "METABOLISM", "MOTION", "NUMBERS", "ORGANISMS", "PERFORMANCE", "POLICY", "REASON", "RISK", "STRUCTURES",
)  # fmt: skip

TITLE_ENDINGS: Final = ("", "", "", " I", " II", " LAB", " AND SOCIETY", " PRACTICE", " FOR MAJORS", " HONORS")

LEADING_SYLLABLES: Final = ("VEL", "TAR", "MOR", "KIN", "ZAB", "ORL", "PEM", "QUI", "HAD", "LUS", "FEN", "GRI", "WOB")
CLOSING_SYLLABLES: Final = ("LORAN", "MIK", "DESSO", "WICK", "OVAR", "ANTO", "UMBER", "ISKY", "ETTE", "ORIN", "ASHAW")
GIVEN_NAMES: Final = (
    "ANNIX",
    "BEROLD",
    "CALLIO",
    "DORVA",
    "ELSIN",
    "FARO",
    "GWILM",
    "HESTA",
    "IOLEN",
    "JORREN",
    "KAVI",
)

CORE_CODES: Final = (
    ("AHo", "Arts and Humanities: Philosophical and Theoretical Issues"),
    ("AHp", "Arts and Humanities: Arts and Literatures"),
    ("CCD", "Contemporary Challenges: Diversities and Social Inequalities"),
    ("HST", "Historical Analysis"),
    ("NS", "Natural Sciences"),
    ("QQ", "Quantitative Information"),
    ("QR", "Mathematical or Formal Reasoning"),
    ("SCL", "Social Analysis"),
    ("WCr", "Writing and Communication: Revision"),
    ("WCd", "Writing and Communication in a Discipline"),
)

COMMENTS: Final = (
    ("07", "Hours by arrangement with the department"),
    ("11", "Attendance at the first meeting is required; seats of absent students are given to others"),
    ("17", "Laboratory fee is charged with the term bill"),
    ("24", "Also open to students of the neighbouring campus after the first week of registration"),
    ("35", "Common hour examinations are held on weekday evenings"),
    ("52", "Students must also register for a recitation section of the same number"),
)

NOTES: Final = (
    "Priority is given to students in their final two terms; all others are placed on a request list.",
    "This section meets jointly with a graduate seminar and carries additional reading.",
    "Materials are provided through the course site; a working camera and microphone are required.",
    "Field trips take place on two Saturdays; dates are announced in the first meeting.",
)

OPEN_TO: Final = (
    "MAJ: 198 (Computer Science)",
    "CLASS: Seniors and juniors of the school of arts and sciences only",
    "MAJ: 640 (Mathematics), MAJ: 960 (Statistics), UNIT-MAJOR 14-332 (Electrical Engineering)",
    "HON: Students of the honors program with departmental approval only",
)

DESCRIPTIONS: Final = (
    "An invented survey of the field with weekly exercises, two papers and a final project presented to the group.",
    "Lectures and guided practice; emphasis on method, on reading closely and on writing down what was measured.",
    "Laboratory work in small groups, with attention to instruments, uncertainty and the reporting of results.",
)

BUILDINGS: Final = ("ARC", "BEK", "CDL", "DVX", "ELM", "FTH", "GRN", "HLL", "IVY", "JNP", "KRT", "LOC", "MLB", "NRT")

LOCATIONS: Final = {
    "NB": (
        ("1", "College Avenue", "CAC"),
        ("2", "Busch", "BUS"),
        ("3", "Livingston", "LIV"),
        ("4", "Cook/Douglass", "D/C"),
        ("5", "Downtown", "DNB"),
        ("Z", "Off campus", "OFF"),
    ),
    "NK": (("6", "Newark", "NWK"), ("Z", "Off campus", "OFF")),
    "CM": (("7", "Camden", "CAM"), ("Z", "Off campus", "OFF")),
}

ONLINE: Final = ("O", "Online", "ONL")
INVALID_CAMPUS: Final = "** INVALID **"

MODES: Final = {
    "02": "LEC",
    "03": "RECIT",
    "04": "SEM",
    "05": "LAB",
    "19": "PROJ-IND",
    "23": "RESEARCH",
    "80": "GRADUATE",
    "90": "ONLINE INSTRUCTION(INTERNET)",
    "91": "HYBRID SECTION",
    "92": "REMOTE-SYNCH",
    "93": "REMOTE-ASYNCH",
}
