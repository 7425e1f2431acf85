"""From what a source reads to the canonical record: names, order, type, mask, area. Learns nothing."""

from ensemble.prepare.canonical import canonical
from ensemble.prepare.record import chunk_of, record
from ensemble.prepare.survey import Survey, cut, domain_of, survey

__all__ = ["Survey", "canonical", "chunk_of", "cut", "domain_of", "record", "survey"]
