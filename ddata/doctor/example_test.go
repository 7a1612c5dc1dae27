package doctor_test

import (
	"fmt"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/doctor"
)

// A check of a configuration before it is rolled out, for three nodes that have half a minute to end.
// Look finds the facts of the machine that it runs on; here they are given.
func ExampleCheck() {
	cfg := ddata.Config{
		Name: "shop", Bind: "0.0.0.0:7946", Advertise: "10.0.0.1:7946", Seeds: []string{"10.0.0.2:7946"},
		BootstrapExpect: 1, LeaveOnSIGTERM: time.Minute, Dir: "data",
	}
	facts := doctor.Facts{
		Plan: doctor.Plan{Nodes: 3, Grace: 30 * time.Second},
		Port: &doctor.Trial{}, Memory: &doctor.Memory{},
		Disk: &doctor.Disk{Free: 1 << 30, SyncTook: time.Millisecond},
	}
	found := doctor.Check(cfg, facts)
	for _, f := range found { // doctor.Print writes all that they say
		fmt.Println(f.Severity, f.Setting)
	}
	fmt.Println("sound:", doctor.Sound(found))
	// Output:
	// error Config.BootstrapExpect
	// error Config.LeaveOnSIGTERM
	// warning Config.TLS
	// sound: false
}

// A service adds findings of its own.
func ExampleFindings() {
	var mine doctor.Findings
	workers := 0
	mine.Add(workers == 0, doctor.Error, "shop.Workers", "set it to the number of processors", "%d workers do nothing",
		workers)
	mine.Add(workers > 100, doctor.Warning, "shop.Workers", "use fewer", "they are too many")
	doctor.Print(os.Stdout, mine)
	var worst doctor.Finding = mine[0]
	fmt.Println(worst.Severity, doctor.Sound(mine))
	// Output:
	// error    shop.Workers: 0 workers do nothing; set it to the number of processors
	// error false
}
