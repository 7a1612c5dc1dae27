// Package format numbers the formats of this library: what nodes send to each other, and what they
// leave on disks.
//
// # Nouns
//
// A Level is one number for all formats together. It goes up when a format changes or a new one
// comes. A Range is the levels that a build reads and can write: from Oldest to Newest, or up to what
// its operator lets it announce (ddata.Config.FormatMax).
//
// # How nodes agree
//
//   - Each connection begins with a hello that names the range of its node (package transport). Two
//     nodes whose ranges have no level in common refuse each other.
//   - Each member of a view has its range, and the view has a level: all members write the formats
//     of that level (package membership). It is founded with the highest level that all founders
//     speak. When all members speak more, the next view that is decided raises it to the lowest of
//     their highest levels. It never falls.
//   - A node that does not speak the level of the view cannot join. The error has both.
//
// So a roll-out of a new build needs nothing but a rolling restart: the new level comes with the view
// in which the last node of the old build has gone.
//
// # Upgrading, and the way back
//
// When the level has risen, builds that do not speak it are refused, and so is the way back. To keep it
// open while the new build is watched:
//
//  1. Set Config.FormatMax to the present level, which is the Newest of the old build, and roll out the
//     new build. The level stays.
//  2. Watch. If something is wrong, roll the old build out again.
//  3. Take FormatMax away by a second rolling restart. The level rises when the last node has been
//     restarted (event FormatRaised).
//
// A build reads the formats of all levels from its Oldest on, those on disks too. To go over more builds
// at once, the ranges of the first and the last must have a level in common.
//
// # How a format is changed
//
//  1. Add a Level behind the others, and say what it brings. It is Newest then.
//  2. Decode both forms. Encode the new one only where the installed view writes the level
//     (view.Writes), and the old one everywhere else. What goes to nodes that are in no view, the
//     hello and the probes of package bootstrap, is a map that only gains keys: unknown ones are
//     ignored.
//  3. Write the bytes of the new level beside those of the old ones (package golden, -update). The files
//     of the levels before stay as they are: decoding them is tested as long as Oldest is not above.
//  4. What a disk holds is written in the form of the level, too, and has its own version in front. A
//     build that finds one that it does not know refuses to start, and leaves it alone.
//  5. When no node of the builds before is left that has to be upgraded, raise Oldest, and remove what
//     reads the levels below, with its golden bytes.
//
// # Not guaranteed
//
// A level says nothing of what a service itself encodes, nor of its AppVersion.
package format
