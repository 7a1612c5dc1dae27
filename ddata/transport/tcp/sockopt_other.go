//go:build !linux

package tcp

import "time"

// setUserTimeout does nothing here: write deadlines and keep-alive have to do.
func setUserTimeout(uintptr, time.Duration) error { return nil }
