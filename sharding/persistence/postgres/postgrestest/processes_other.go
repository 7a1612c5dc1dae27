//go:build !linux

package postgrestest

import "syscall"

// dieWithParent needs Linux. Elsewhere a server outlives a process that is killed.
func dieWithParent(*syscall.SysProcAttr) {}

func lockThread() {}

// children needs Linux. Elsewhere those of a server that is killed end by themselves.
func children(int) []int { return nil }
