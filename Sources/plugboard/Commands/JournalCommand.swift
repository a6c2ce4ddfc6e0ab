// `journal`: checks, shows and repairs what a broker has kept, while no broker uses it.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension Command {
    static let journal = Command(
        name: "journal",
        group: .operate,
        summary: "check, show or repair what a broker kept; begin a new epoch",
        parameters: [
            CommandParameter("check|new-epoch|repair|show", "what to do"),
            CommandParameter("PATTERN", "show: only keys that match", .any),
        ],
        options: [.json, .state, .socket],
        details: """
            check reads the whole journal and says whether it is complete and undamaged; if not, or if there \
            is none, the status is 1. show prints each record: when it was made (UTC), its revision, what was written \
            and by whom, and what ends it by itself, and when. --json prints the lines as they are stored. If something is damaged, repair makes \
            a journal of all lines that it can still read, and keeps the old files under names that begin \
            with damaged-. It names what it leaves out, also whole files: those that it can't open, and those of \
            another bus (that of fewer files, unless the files say which were made in this folder). If there is no \
            journal, the status is 1. No other program may use the journal meanwhile.

            After the folder was put back from a backup, revisions are given a second time, so clients must \
            not go on with those that they know. The next broker finds out that the files were copied, and \
            begins a new epoch. It can't find out that a whole file system was set back to a snapshot, or \
            that a single file was overwritten in its place. After that, run new-epoch before the broker \
            starts.

            The journal is lines of JSON in a folder. Segment files have one record for each commit. A \
            snapshot replaces all segments up to its number.
            """,
        examples: [
            "journal check", "journal show 'cart.*'", "journal repair --state /var/lib/shop",
            "journal new-epoch",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let task = invocation.arguments[0]
        let tasks = ["check", "new-epoch", "repair", "show"]
        guard tasks.contains(task) else {
            throw CommandError.usage(
                "a journal is checked, shown or repaired, or gets a new epoch: there is no \"\(task)\"",
                hint: Suggestion.hint(for: task, among: tasks)
            )
        }
        if task != "show", let word = invocation.arguments.dropFirst().first {
            throw CommandError.usage(
                "\"\(word)\" is too much: only show takes patterns",
                hint: word.contains("/") ? "the folder of a journal is named by --state DIR" : nil
            )
        }
        let folder = try place(invocation)
        switch task {
        case "check": try JournalCheck(folder: folder, console: console).run()
        case "new-epoch": try beginEpoch(folder, console)
        case "show": try JournalListing(invocation, console).run(folder)
        default: try repair(folder, console)
        }
    }

    private static func place(_ invocation: Invocation) throws -> String {
        let socket = invocation.text(.socket) ?? SocketPath.standard()
        guard let folder = invocation.text(.state) ?? JournalFolder.standard(forSocket: socket) else {
            throw CommandError.usage(
                "where is it? neither HOME nor XDG_STATE_HOME is set; --state DIR says it"
            )
        }
        guard FileStatus(path: folder).kind == .folder else {
            throw noJournal(in: folder)
        }
        return folder
    }

    /// A broker begins its journal when it starts, so a folder without records is none.
    fileprivate static func noJournal(in folder: String) -> CommandError {
        CommandError(.refused, "there is no journal in \(folder)")
    }

    private static func beginEpoch(_ path: String, _ console: CommandConsole) throws {
        let folder = try JournalFolder(path: path)
        let found = try Journal.check(folder.store, boot: SystemBoot.identity()) { _, _ in }
        guard found.epoch != nil else { throw noJournal(in: path) }
        try Journal.removeMarks(folder.store)
        try console.output.line("the next broker begins a new epoch, after revision \(found.revision)")
    }

    private static func repair(_ path: String, _ console: CommandConsole) throws {
        let folder = try JournalFolder(path: path)
        var repair = try JournalRepair(folder.store, boot: SystemBoot.identity())
        guard let result = try repair.run(epoch: Journal.newEpoch()) else {
            guard repair.isThere else { throw noJournal(in: path) }
            return try console.output.line("nothing is damaged, and nothing was changed")
        }
        for damage in result.damages { try console.output.line("left out: \(damage)") }
        if result.damageCount > result.damages.count {
            try console.output.line("and \(result.damageCount - result.damages.count) more places")
        }
        for gap in result.missingSegments {
            let number = gap.count == 1 ? " \(gap.lowerBound)" : "s \(gap.lowerBound) to \(gap.upperBound)"
            try console.output.line("missing: segment\(number)")
        }
        try console.output.line("\(result.keys) keys up to revision \(result.revision) are there")
        for name in result.kept { try console.output.line("kept: \(name)") }
    }
}

/// Checks a journal and prints the result.
private struct JournalCheck {
    let folder: String
    let console: CommandConsole

    func run() throws {
        let store = try DataFolder(path: folder)
        var keys: Set<[UInt8]> = []
        let found = try Journal.check(store, boot: SystemBoot.identity()) { record, line in
            let key = Array(record.key.bytes(of: line))
            if record.kind == .update { keys.insert(key) } else { keys.remove(key) }
        }
        guard let epoch = found.epoch else { throw Command.noJournal(in: folder) }
        try console.output.line("whole: \(keys.count) keys up to revision \(found.revision), epoch \(epoch)")
        if let torn = found.torn {
            try console.output.line(
                "the end is not whole from \(torn.place) on: being written now, or cut off at the next start"
            )
        } else if !found.isClosed {
            try console.output.line("the broker is running, or was killed: nothing that it told is missing")
        }
        if found.mayBeCopy {
            try console.output.line("it may be a copy that was put back: the next broker begins a new epoch")
        }
    }
}

/// Prints the records, one in each line.
private struct JournalListing {
    private let isJSON: Bool
    private let patterns: [[UInt8]]
    private let console: CommandConsole

    init(_ invocation: Invocation, _ console: CommandConsole) throws {
        isJSON = invocation.has(.json)
        patterns = try invocation.arguments.dropFirst().map { Array(try ValueArgument.pattern($0).utf8) }
        self.console = console
    }

    func run(_ folder: String) throws {
        var isThere = false
        try Journal.forEachLine(try DataFolder(path: folder)) { record, line, place in
            isThere = true
            guard let record else { return console.say("unreadable: \(place)") }
            try show(line, record, place)
        }
        if !isThere { throw Command.noJournal(in: folder) }
    }

    private func show(_ line: Span<UInt8>, _ record: RecordLine, _ place: JournalPlace) throws {
        if isJSON {
            if matches(line, record) { try console.output.json(Array(line)) }
            return
        }
        if record.kind == .segment || record.kind == .snapshot, patterns.isEmpty {
            try console.output.line("\(place.file):")
        }
        _ = try record.forEachWrite(of: line, show)
    }

    private func matches(_ line: Span<UInt8>, _ record: RecordLine) -> Bool {
        if patterns.isEmpty { return true }
        var isFound = false
        _ = record.forEachWrite(of: line) { write, bytes in
            if isWanted(write.key.bytes(of: bytes)) { isFound = true }
        }
        return isFound
    }

    private func isWanted(_ key: Span<UInt8>) -> Bool {
        patterns.isEmpty
            || patterns.contains { Pattern.matches($0.span, key) }
    }

    private func show(_ event: RecordLine, _ line: Span<UInt8>) throws {
        let key = event.key.bytes(of: line)
        guard isWanted(key) else { return }
        let text = { (bytes: Span<UInt8>) in Printable.text(String(bytes)) }
        let value = event.kind == .update ? " " + text(event.value.bytes(of: line)) : " deleted"
        let by = JSONValue(accepted: Array(event.by.bytes(of: line))[...])
        let origin =
            event.origin.isEmpty ? nil : JSONValue(accepted: Array(event.origin.bytes(of: line))[...])
        let writer = WriterText.of(by, origin)
        let end = ValueEnd(isBound: event.isWhileConnected, expires: event.expires)
        let ends = end.map { "  ends \($0.text)" } ?? ""
        try console.output.line(
            "\(UTCTime.text(event.when))  \(event.revision)  \(text(key))\(value)  by \(writer)\(ends)"
        )
    }
}
