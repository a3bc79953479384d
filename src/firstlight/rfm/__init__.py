"""x"""
from firstlight.rfm.kernels import KERNELS, Exponential, Gaussian, Kernel, Laplace, Quadratic
from firstlight.rfm.machine import Rule, recursive_feature_machine
