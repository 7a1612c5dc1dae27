package etcdtest

import (
	"runtime"
	"syscall"
)

// dieWithParent has a command end with the thread that starts it.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func lockThread() { runtime.LockOSThread() }
