//go:build !linux

package file

// network cannot be told here.
func network(string) (kind string, remote bool) { return "", false }
