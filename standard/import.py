#!/usr/bin/env python3
"""Write apis.json from the data of pympistandard (see README.md).

usage: import.py path/to/pympistandard/data/apis.json

Keeps what a C binding needs: per procedure its name, chapter, and C parameters with kind, direction and length.
"""

import json
import re
import sys
from pathlib import Path

# First match wins; the chapters of MPI 5.0, named as the generated files are.
CHAPTERS = [
    ("tool", r"MPI_T_"),
    ("abi", r"MPI_Abi_|.*_(toint|fromint|c2f|f2c|c2f08|f082c|f2f08|f082f)$"),
    ("io", r"MPI_File_|MPI_Register_datarep"),
    ("deprecated", r"MPI_(Attr_|Keyval_|Info_get$|Info_get_valuelen|Sizeof)|.*_x$"),
    ("rma", r"MPI_(Win_|Put|Get$|Get_accumulate|R?accumulate|Accumulate|Rget|Rput|Raccumulate|Fetch_and_op|Compare_and_swap)"),
    ("partitioned", r"MPI_(P(send|recv)_init|Pready|Parrived)"),
    ("topology", r"MPI_(Cart|Dims_|Graph|Dist_graph|I?[Nn]eighbor_|Topo_)"),
    ("external", r"MPI_(Grequest_|Status_set_)"),
    ("environment", r"MPI_(Get_version|Get_library_version|Get_processor_name|Get_hw|Alloc_mem|Free_mem|Wti|Add_error|Remove_error|Error_|Pcontrol)|.*(errhandler|Errhandler)"),
    ("info", r"MPI_Info_"),
    ("process", r"MPI_(Init|Finalize|Session_|Abort|Query_thread|Is_thread|Open_port|Close_port|.*_name$|Comm_(spawn|accept|connect|disconnect|join|get_parent))"),
    ("communicator", r"MPI_(Group_|Comm_|Intercomm_|Type_(create_keyval|free_keyval|set_attr|get_attr|delete_attr)$)"),
    ("collective", r"MPI_(Op_|Reduce|I?([Bb]arrier|[Bb]cast|[Gg]ather|[Ss]catter|[Aa]llgather|[Aa]lltoall|[Rr]educe|[Aa]llreduce|[Ss]can|[Ee]xscan))"),
    ("datatype", r"MPI_(Type_|Pack|Unpack|Get_address|Aint_|Get_elements)"),
    ("point_to_point", r"MPI_"),
]
# MPI_Type_set_name and the like follow the object, not the name service.
OBJECT_NAME = r"MPI_(Comm|Type|Win)_[sg]et_name$"
FACTS = ["kind", "length", "pointer", "func_type", "large_only", "root_only"]


def chapter(name):
    """The chapter that holds `name`."""
    if re.fullmatch(OBJECT_NAME, name):
        return "rma" if "_Win_" in name else "communicator"
    return next(chapter for chapter, pattern in CHAPTERS if re.match(pattern, name))


def parameter(source):
    """The facts about one parameter; what is false, empty or absent is left out."""
    facts = {"name": source["name"], "direction": source["param_direction"]}
    for fact in FACTS:
        value = source[fact]
        if fact == "pointer" and value is not None or value:
            facts[fact] = value
    if source["length"] == "":
        facts["length"] = "*"
    if source["constant"]:
        facts["const"] = True
    return facts


def main():
    procedures = []
    for entry in json.loads(Path(sys.argv[1]).read_text()).values():
        attributes = entry["attributes"]
        if not attributes["c_expressible"] or attributes["predefined_function"]:
            continue
        procedure = {"name": entry["name"], "returns": entry["return_kind"]}
        if attributes["callback"]:
            procedure["callback"] = True
        else:
            procedure["chapter"] = chapter(entry["name"])
        procedure["parameters"] = [
            parameter(source) for source in entry["parameters"] if "c_parameter" not in source["suppress"]
        ]
        procedures.append(procedure)
    procedures.sort(key=lambda procedure: procedure["name"].lower())
    lines = ",\n".join(json.dumps(procedure, separators=(",", ":")) for procedure in procedures)
    Path(__file__).with_name("apis.json").write_text(f"[\n{lines}\n]\n")


main()
