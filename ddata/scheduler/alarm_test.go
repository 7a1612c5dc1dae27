package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// An alarm rings once for all that have armed it before, and again when it is armed later.
func TestAlarm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begun, rang := time.Now(), []time.Duration{}
		more := true
		var a *scheduler.Alarm
		a = scheduler.NewAlarm(scheduler.Goroutines{}, time.Second, func() {
			rang = append(rang, time.Since(begun))
			if more {
				more = false
				a.Arm()
			}
		})
		a.Arm()
		<-time.After(time.Second / 2)
		a.Arm() // it rings for the first call already
		<-time.After(10 * time.Second)
		synctest.Wait()
		if len(rang) != 2 || rang[0] != time.Second || rang[1] != 2*time.Second {
			t.Fatalf("it rang at %v", rang)
		}
		a.Arm()
		<-time.After(time.Second / 2)
		a.Stop()
		a.Arm()
		<-time.After(10 * time.Second)
		if len(rang) != 2 {
			t.Errorf("it rang at %v, after it was stopped", rang)
		}
	})
}

// An alarm that was never armed can be stopped, and does not ring afterwards.
func TestAlarmStopsBeforeItIsArmed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := scheduler.NewAlarm(scheduler.Goroutines{}, time.Second, func() { t.Error("it rang") })
		a.Stop()
		a.Arm()
		<-time.After(10 * time.Second)
	})
}
