cat > sphere.py <<'PYTHON'
from paraview import servermanager
from paraview.simple import IntegrateVariables, ProcessIdScalars, Sphere
sphere = Sphere(ThetaResolution=48, PhiResolution=48)
owners = ProcessIdScalars(Input=sphere)
owners.UpdatePipeline()
total = IntegrateVariables(Input=owners)
area = servermanager.Fetch(total).GetCellData().GetArray("Area").GetValue(0)
ranks = owners.PointData["ProcessId"].GetRange()[1] + 1
print("result: %.8f on %d ranks" % (area, ranks), flush=True)
PYTHON
export QT_QPA_PLATFORM=offscreen
$MPIEXEC -n $RANKS pvbatch sphere.py > sphere.out
sed -n 's/.*\(result: .*ranks\).*/\1/p' sphere.out > result.txt
grep "on $RANKS ranks" result.txt
