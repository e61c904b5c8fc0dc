"""Readers: any interaction file or frame → `Interactions`, by one function."""

from sahcns.data.readers.reading import FORMATS as FORMATS
from sahcns.data.readers.reading import read as read
