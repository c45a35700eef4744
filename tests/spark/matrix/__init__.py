"""What every version of Spark must be able to do with tables of this package, or deltaskip must refuse by name."""
