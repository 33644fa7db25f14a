"""Autovacuum for a queue: rows die as fast as tasks run, and every claim reads past those that are not cleaned up.

The defaults wait for a fifth of the table to be dead and then work slowly. See docs/architecture.md.
"""

from django.db import migrations

SETTINGS = {
    "autovacuum_vacuum_scale_factor": "0.01",
    "autovacuum_vacuum_threshold": "1000",
    "autovacuum_vacuum_cost_delay": "0",
    "autovacuum_analyze_scale_factor": "0.05",
}


def tune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        settings = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
        schema_editor.execute(f"ALTER TABLE locqueue_task SET ({settings})")


def reset(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE locqueue_task RESET ({', '.join(SETTINGS)})")


class Migration(migrations.Migration):
    dependencies = [("locqueue", "0001_initial")]

    operations = [migrations.RunPython(tune, reset)]
