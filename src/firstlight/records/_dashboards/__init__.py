"""Runs for dashboards that a lab already has: TensorBoard and MLflow. Neither is needed for anything else."""

from firstlight.records._dashboards._flat import DashboardError
from firstlight.records._dashboards._mlflow import export_mlflow
from firstlight.records._dashboards._tensorboard import export_tensorboard

__all__ = ["DashboardError", "export_mlflow", "export_tensorboard"]
