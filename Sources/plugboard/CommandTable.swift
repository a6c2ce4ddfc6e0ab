// The table of all commands. A new command is a row here and a file in `Commands`.

/// The table of commands, in the order of the overview.
enum CommandTable {
    static let all: [Command] = [
        .get, .publish, .subscribe, .keys, .wait, .delete, .patch, .add, .emit, .call, .serve, .batch,
        .help, .man, .completions,
        .top, .status, .dashboard, .who, .why, .trace, .explain, .clients, .services, .ping, .metrics,
        .up, .plugins, .broker, .restart, .install, .journal, .dump, .load, .policy, .disconnect,
        .new, .record, .replay, .play, .pause, .step, .resume, .limits, .bench,
        .launch, .complete,
    ]

    /// The commands in the overview: those that can be run here.
    static let visible = all.filter {
        $0.group != .hidden && ($0.name != Command.bench.name || InstalledBench.isHere)
    }

    static func command(named name: String) -> Command? {
        all.first { $0.name == name || $0.formerName == name }
    }
}
