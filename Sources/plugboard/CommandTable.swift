// The table of all commands. A new command is a row here and a file in `Commands`.

/// The table of commands, in the order of the overview.
enum CommandTable {
    static let all: [Command] = [
        .up, .plugins, .plugin, .broker, .restart, .install, .serve,
        .publish, .emit, .patch, .add, .delete, .batch, .load, .call, .replay,
        .get, .wait, .keys, .dump, .subscribe, .record, .top,
        .who, .why, .trace, .explain, .pause, .step, .resume, .disconnect, .journal, .policy, .bench, .limits,
        .help, .completions, .man, .dashboard, .status, .clients, .services, .metrics, .ping, .new, .play,
        .launch, .complete,
    ]

    /// The commands in the overview.
    static var visible: [Command] { all.filter { $0.group != .hidden } }

    static func command(named name: String) -> Command? {
        all.first { $0.name == name }
    }
}
