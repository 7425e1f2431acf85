"""From what a source reads to the canonical record: names, order, type, mask, area. Learns nothing."""

from ensemble.prepare.canonical import canonical
from ensemble.prepare.domain import domain_of
from ensemble.prepare.record import chunk_of, record

__all__ = ["canonical", "chunk_of", "domain_of", "record"]
