//go:build !linux

package postgrestest

import "syscall"

// dieWithParent needs Linux. Elsewhere a server outlives a process that is killed.
func dieWithParent(*syscall.SysProcAttr) {}

func lockThread() {}
