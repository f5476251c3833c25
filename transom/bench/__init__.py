"""What benchmarks measure."""

from transom.bench.front_quality import FrontQuality, quality

__all__ = ["FrontQuality", "quality"]
