$MPIEXEC -n $RANKS /usr/bin/python3 -c '
import boost.mpi as mpi
world = mpi.world
total = mpi.all_reduce(world, {"rank": world.rank}, lambda a, b: {"rank": a["rank"] + b["rank"]})
assert total["rank"] == sum(range(world.size)) and world.size > 1
if world.rank == 0:
    open("result.txt", "w").write(f"{world.size} {total}\n")
'
