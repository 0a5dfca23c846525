"""`python -m service.cli` is `tallystick`."""

from service.cli.main import main

main()
