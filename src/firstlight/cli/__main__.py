"""`python -m firstlight.cli` is `firstlight`."""

import sys

from firstlight.cli.entry import main

sys.exit(main())
