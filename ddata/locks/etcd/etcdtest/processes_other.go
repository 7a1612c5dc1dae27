//go:build !linux

package etcdtest

import "syscall"

// dieWithParent needs Linux. Elsewhere a member outlives a process that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }

func lockThread() {}
