"""What differs between devices: graphs whose four operations fit one, and the registry of fast paths."""

from sahcns.kernels.paths import build_graph as build_graph
from sahcns.kernels.paths import make_adam as make_adam
from sahcns.kernels.paths import make_rng as make_rng
from sahcns.kernels.paths import resolve_path as resolve_path
from sahcns.kernels.paths import with_path as with_path
