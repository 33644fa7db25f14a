"""The fast settings with other ways to keep connections; TEST_CONNECTIONS is JSON that is merged into DATABASES."""

import json
import os

from tests.settings_fast import *  # noqa: F403
from tests.settings_fast import DATABASES

for key, value in json.loads(os.environ.get("TEST_CONNECTIONS", "{}")).items():
    before = DATABASES["default"].get(key)
    DATABASES["default"][key] = {**before, **value} if isinstance(before, dict) else value
