#!/usr/bin/env bash
# Objects of two classes of the JVM that have one name, as after the same source was compiled twice.
#
# The guess: PySpark calls the method of the object that it is called on. Class loaders exist so that such classes can stand
# side by side, and Spark itself compiles classes of one name for each query.
# PySpark 4.1.4 (py4j): what was found for the first object is remembered by the name of its class, so that the same call on
# the second object ends in "object is not an instance of declaring class". Inherited methods, such as toString, work.
#
# Output seen:
#    first: first
#    second: Py4JError, object is not an instance of declaring class
#    first: first
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cd "$folder"
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -20 "$folder/log"; exit 1; }
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
jvm, gateway = spark._jvm, spark.sparkContext._gateway


def greeter(answer):
    """An object of a class Greeter in a class loader of its own."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook('public class Greeter { public String greet() { return "%s"; } }' % answer)
    [constructor] = compiler.getClassLoader().loadClass("Greeter").getConstructors()
    return constructor.newInstance(gateway.new_array(jvm.java.lang.Object, 0))


def greeting(object_):
    try:
        return object_.greet()
    except Py4JError as error:
        [why] = [part for part in ("object is not an instance of declaring class",) if part in str(error)]
        return f"{type(error).__name__}, {why}"


first, second = greeter("first"), greeter("second")
found = [greeting(first), greeting(second), greeting(first)]
for name, answer in zip(("first", "second", "first"), found):
    print(f"{name}: {answer}")
assert second.toString().startswith("Greeter@")
spark.stop()
assert found == ["first", "Py4JError, object is not an instance of declaring class", "first"], "the calls have changed"
PYTHON
