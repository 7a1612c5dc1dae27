package main

import (
	"fmt"
	"os"
)

func main() {
	if os.Getenv(envAddr) != "" {
		exit(runNode())
		return
	}
	d, err := newDemo()
	exit(err)
	err = d.run()
	d.clean()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
