"""`python -m service.cli` is `tallystick`."""

import sys

from service.cli.main import main

sys.exit(main())
