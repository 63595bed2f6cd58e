! What differs between the forms of the interface, for the preprocessor: INCLUDE, MODULE, or F08, there with LARGE counts or not. OLD: without what
! came after MPI 4.0.
#if defined(F08)
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define ERRHANDLER type(MPI_Errhandler)
#define FILE_ type(MPI_File)
#define GROUP type(MPI_Group)
#define INFO type(MPI_Info)
#define MESSAGE type(MPI_Message)
#define OP type(MPI_Op)
#define REQUEST type(MPI_Request)
#define SESSION type(MPI_Session)
#define WIN type(MPI_Win)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s, n) type(MPI_Status) :: s(n)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#define ERROR(s) s%MPI_ERROR
#define SOURCE_OF(s, i) s(i)%MPI_SOURCE
#define ADDRESS type(C_PTR)
#define ATTACHED(bytes, place) place
#else
#define COMM integer
#define DATATYPE integer
#define ERRHANDLER integer
#define FILE_ integer
#define GROUP integer
#define INFO integer
#define MESSAGE integer
#define OP integer
#define REQUEST integer
#define SESSION integer
#define WIN integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#define ERROR(s) s(MPI_ERROR)
#define SOURCE_OF(s, i) s(MPI_SOURCE, i)
#define ADDRESS integer(MPI_ADDRESS_KIND)
#define ATTACHED(bytes, place) bytes
#endif
! Buffers of operations that continue: a procedure without an interface takes no asynchronous arguments.
#if defined(INCLUDE)
#define BUFFERS integer
#else
#define BUFFERS integer, asynchronous
#endif
#define OK call ok(__LINE__)
#define CHECK(holds) call check(holds, __LINE__)
