package postgrestest

import (
	"runtime"
	"syscall"
)

// dieWithParent has a command end with the thread that starts it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

func lockThread() { runtime.LockOSThread() }
