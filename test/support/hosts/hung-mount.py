# Mounts a FUSE file system whose server never answers: every look into it hangs until it is aborted or its caller is killed.
import ctypes, os, sys
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
sys.stdin.read()
