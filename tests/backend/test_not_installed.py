"""What a project hears that uses the queue and did not install it."""

import os
import subprocess
import sys

SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = ["locqueue_shop"]
TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}}
"""
TASKS = """
from django_locqueue import task

@task
def send():
    pass
"""


def test_an_app_that_was_forgotten_is_told_with_what_to_add(tmp_path):
    app = tmp_path / "locqueue_shop"
    app.mkdir()
    (tmp_path / "locqueue_shop_settings.py").write_text(SETTINGS)
    (app / "__init__.py").write_text("")
    (app / "tasks.py").write_text(TASKS)
    (app / "models.py").write_text("from locqueue_shop import tasks")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "locqueue_shop_settings", "PYTHONPATH": path}
    found = subprocess.run(
        [sys.executable, "-m", "django", "check"], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode != 0
    assert 'add "django_locqueue" to INSTALLED_APPS' in found.stderr.splitlines()[-1]
    assert "app_label" not in found.stderr
