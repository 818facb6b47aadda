package main

// Exit statuses. They are an interface: scripts depend on them.
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNothing     = 3
	exitMedia       = 4
	exitServer      = 5
	exitInterrupted = 130
)

// exitHelp stands in the help of each command.
const exitHelp = `Exit status:
  0    done
  1    other failure
  2    wrong usage
  3    nothing to select: no valid fragment, at or past the end, unknown id
  4    media not supported or damaged
  5    server or network
  130  interrupted`
