// Package config has what every configuration of this module is checked with.
//
// A SettingError is one thing that is wrong with a configuration: the name of the setting, what is
// wrong with its value, and what to do about it. Faults gathers them, so that one call of Validate
// reports all faults together. Of takes over the faults of a nested configuration and puts the name
// of the field before theirs.
//
//	var f config.Faults
//	f.Add(c.Count < 1, "Count", "%d is below 1: say how many workers there are", c.Count)
//	f.Of("Store", c.Store.Validate())
//	return f.Err("daemon: Config")
//
// The error prints one line for each fault, with the full name of its setting:
//
//	daemon: Config.Count: 0 is below 1: say how many workers there are
//
// Where a name alone says too little, Wrap puts an error before each line instead.
//
// Default sets a field that is zero. Nothing here panics, and nothing knows what a setting means.
package config
