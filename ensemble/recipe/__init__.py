"""The recipe: a YAML file that reads like a sentence and names the same classes and fields as the Python objects."""

from ensemble.recipe.read import changed, cluster_of, raw_recipe, read_recipe, shipped, source_of, study_of
from ensemble.recipe.resolve import configured
from ensemble.recipe.write import settings_of, written

__all__ = ["changed", "cluster_of", "configured", "raw_recipe", "read_recipe", "settings_of", "shipped", "source_of", "study_of", "written"]
