"""The graph's operations and the fast paths of all methods as Triton kernels; importing it registers them."""

from sahcns.kernels.gpu import bns, bpr, dens, divns, ngcf, pools, sahc, simgcl, softmax  # noqa: F401
from sahcns.kernels.gpu.graph import GpuGraph as GpuGraph
