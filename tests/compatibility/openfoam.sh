# The flow in a cavity whose lid moves.
export WM_PROJECT_DIR=/usr/share/openfoam
mkdir -p 0 constant system
head_of() { printf 'FoamFile { version 2.0; format ascii; class %s; object %s; }\n' "$1" "$2"; }
{ head_of dictionary controlDict
  echo 'application icoFoam; startFrom startTime; startTime 0; stopAt endTime; endTime 0.1; deltaT 0.005; writeControl timeStep; writeInterval 20;
    writePrecision 10; timePrecision 6;'; } > system/controlDict
{ head_of dictionary fvSchemes
  echo 'ddtSchemes { default Euler; } gradSchemes { default Gauss linear; } divSchemes { default none; div(phi,U) Gauss linear; }
    laplacianSchemes { default Gauss linear orthogonal; } interpolationSchemes { default linear; } snGradSchemes { default orthogonal; }'; } > system/fvSchemes
{ head_of dictionary fvSolution
  echo 'solvers { p { solver PCG; preconditioner DIC; tolerance 1e-10; relTol 0; } pFinal { $p; } U { solver smoothSolver; smoother symGaussSeidel;
    tolerance 1e-10; relTol 0; } } PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }'; } > system/fvSolution
{ head_of dictionary decomposeParDict
  echo "numberOfSubdomains $RANKS; method simple; simpleCoeffs { n ($RANKS 1 1); delta 0.001; }"; } > system/decomposeParDict
{ head_of dictionary blockMeshDict
  echo 'scale 0.1; vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));
    blocks (hex (0 1 2 3 4 5 6 7) (20 20 1) simpleGrading (1 1 1)); edges ();
    boundary ( lid { type wall; faces ((3 7 6 2)); } walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }
    sides { type empty; faces ((0 3 2 1) (4 5 6 7)); } );'; } > system/blockMeshDict
{ head_of dictionary transportProperties; echo 'nu 0.01;'; } > constant/transportProperties
{ head_of volVectorField U
  echo 'dimensions [0 1 -1 0 0 0 0]; internalField uniform (0 0 0); boundaryField { lid { type fixedValue; value uniform (1 0 0); }
    walls { type noSlip; } sides { type empty; } }'; } > 0/U
{ head_of volScalarField p
  echo 'dimensions [0 2 -2 0 0 0 0]; internalField uniform 0; boundaryField { lid { type zeroGradient; } walls { type zeroGradient; }
    sides { type empty; } }'; } > 0/p
blockMesh > mesh.log
decomposePar > decompose.log
$MPIEXEC -n $RANKS icoFoam -parallel > ico.log
grep "^End" ico.log
# Residuals at the last step, without the last digits.
sed -n 's/.*Initial residual = \([0-9.]\{6\}\)[0-9]*\(e[-+0-9]*\)*,.*/\1\2/p' ico.log | tail -n 3 > result.txt
