"""Who may do what with a task, and what is told of it."""
