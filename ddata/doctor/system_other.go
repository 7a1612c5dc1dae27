//go:build !linux

package doctor

func fileSystem(string) (kind string, free uint64) { return "", freeMin }

func inUse(string) bool { return false }

func addressSpace() uint64 { return 0 }

func clockUnsynchronized() bool { return false }
