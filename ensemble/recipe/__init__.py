"""The recipe: a YAML file that reads like a sentence and names the same classes and fields as the Python objects."""

from ensemble.recipe.read import cluster_of, read_recipe, shipped
from ensemble.recipe.resolve import configured
from ensemble.recipe.write import settings_of, written

__all__ = ["cluster_of", "configured", "read_recipe", "settings_of", "shipped", "written"]
