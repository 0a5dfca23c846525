"""Who may call the service, what each caller may do, and how often."""
