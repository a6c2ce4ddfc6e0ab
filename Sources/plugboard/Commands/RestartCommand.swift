// `restart`: makes the broker begin anew in its own process, as the program that is now at its
// path. No connection is refused meanwhile.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let restart = Command(
        name: "restart",
        group: .operate,
        summary: "have the broker begin anew, as the program installed now",
        options: CommandOption.connection,
        details: """
            The broker tells its clients that it begins anew. Then, in the same process, it becomes the \
            program that is now at its path: after an update, the new one. Its socket stays open, so \
            clients that connect meanwhile wait, and none is refused. What the broker keeps is there \
            again, even without a journal. Clients that come back and subscribe with "since", as the \
            library does, miss nothing.

            The broker first checks that the program starts, and that it accepts the --policy file. If \
            not, nothing changes, and this command says why, with status 1. The policy that was checked is the one that applies. SIGUSR2 to the \
            broker's process does the same, and so does SIGHUP if its program has been replaced. Only the \
            broker's own user and root may do it, and only where the system confirms which process the \
            broker is: not from outside of its container.
            """,
        examples: ["restart"],
        run: run
    )

    /// How long the broker may take to end its connections and to read its journal.
    private static let patienceSeconds = 30.0

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let connection = try BrokerConnection.open(invocation)
        let told = try connection.ownValue(of: TopKeys.stats).object?["pid"]?.integer
        guard let pid = BrokerProcess.confirmed(told, by: connection) else {
            throw CommandError(
                .refused,
                "the broker's process can't be found from here, as if it ran in a container",
                hints: ["where it runs, SIGUSR2 to it does the same"]
            )
        }
        let warnings = ObjectWriter(op: "subscribe").adding("key", string: TopKeys.warnings)
        _ = try connection.accepted(warnings.adding("initial", false, unless: true))
        do {
            try Signals.send(SIGUSR2, to: pid)
        } catch {
            throw CommandError(.refused, "the broker can't be asked: \(error)")
        }
        try waitForFarewell(connection)
        let next = try BrokerConnection.open(invocation)
        let greeting = try next.accepted(ObjectWriter(op: "sync"))
        let revision = greeting["revision"]?.integer.map { ", at revision \($0)" } ?? ""
        try console.output.line("the broker has begun anew\(revision)")
    }

    /// Waits for `bye`. Throws the broker's reason if it stays.
    private static func waitForFarewell(_ connection: BrokerConnection) throws(CommandError) {
        let deadline = TimeLimit(seconds: patienceSeconds)
        while let left = deadline.milliseconds {
            do {
                guard let line = try connection.nextLine(milliseconds: left) else { continue }
                if line.kind == .event("bye") { return }
                if let reason = refusal(in: line) { throw CommandError(.refused, reason) }
            } catch let error as CommandError where !connection.isLost {
                throw error
            } catch {
                return
            }
        }
        throw CommandError(.refused, "the broker goes on as it was: it says why where it prints")
    }

    /// The newest warning, if it is about this.
    private static func refusal(in line: BrokerLine) -> String? {
        let warnings = line["value"]?.array?.compactMap(\.object) ?? []
        let newest = warnings.max { ($0["when"]?.string ?? "") < ($1["when"]?.string ?? "") }
        guard newest?["kind"]?.string == "restart" else { return nil }
        return newest?["message"]?.string
    }
}
