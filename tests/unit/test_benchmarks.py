"""The benchmarks: their workloads are what they say, and the picture is one; nothing is timed here."""

from xml.etree import ElementTree as ET

from benchmarks.growth import Measured, picture
from benchmarks.once import measure
from benchmarks.workloads import azure, saturated
from sim.scenario import parse_scenario


def test_workloads_are_scenarios(root):
    assert len(parse_scenario(saturated(50)).requests) == 50
    assert saturated(50) == saturated(50)
    hour = azure(root / "tests" / "data" / "azure.first60.csv", 4)
    assert [request["arrival_us"] for request in hour["requests"][:2]] == [0, 4_314_579 // 4]


def test_every_driver_does_the_same_work():
    found = [measure(saturated(20), driver) for driver in ("plain", "awake", "fast")]
    assert len({(one["steps"], one["request_steps"]) for one in found}) == 1
    assert found[0]["request_steps"] > 0


def test_the_picture_is_svg():
    rows = [Measured("steps", n, driver, n, 7 * n, n) for n in (10, 100, 1000) for driver in ("fast", "awake")]
    drawn = ET.fromstring(picture(rows))
    assert len(drawn.findall(".//{http://www.w3.org/2000/svg}polyline")) == 4
