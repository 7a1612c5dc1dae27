// Command settings writes the reference of all settings anew. Run it from the root of the repository.
//
//	go run ./proptest/settings/cmd/settings
package main

import (
	"fmt"
	"os"

	"github.com/coterie-go/coterie/proptest/settings"
)

func main() {
	text, err := settings.Page(os.DirFS("."))
	if err == nil {
		err = os.WriteFile(settings.File, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
