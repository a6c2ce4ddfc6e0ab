// `restart`: makes the broker begin anew in its own process, as the program that is now at its
// path. No connection is refused meanwhile.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let restart = Command(
        name: "restart",
        group: .run,
        summary: "have the broker begin anew, as the program installed now",
        options: CommandOption.connection,
        details: """
            The broker tells its clients that it begins anew. Then, in the same process, it becomes the \
            program that is now at its path: after an update, the new one. Its socket stays open, so \
            clients that connect meanwhile wait, and none is refused. What the broker keeps is there \
            again, even without a journal. Clients that come back and subscribe with "since", as the \
            library does, miss nothing.

            The broker first checks that the program starts, and that it accepts the --policy file. If \
            not, nothing changes. The policy that was checked is the one that applies. SIGUSR2 to the \
            broker's process does the same, and so does SIGHUP if its program has been replaced. Only the \
            broker's own user and root may do it.
            """,
        examples: ["restart"],
        run: run
    )

    /// How long the broker may take to end its connections and to read its journal.
    private static let patienceSeconds = 30.0

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let connection = try BrokerConnection.open(invocation)
        let reply = try connection.accepted(ObjectText(op: "get").adding("key", string: "$broker.stats"))
        guard let value = reply["value"],
            let pid = value.object?["pid"]?.integer.flatMap(Int32.init(exactly:))
        else { throw CommandError(.refused, "the broker does not say which process it is") }
        do {
            try Signals.send(SIGUSR2, to: pid)
        } catch {
            throw CommandError(.refused, "the broker can't be asked: \(error)")
        }
        guard waitForFarewell(connection) else {
            throw CommandError(.refused, "the broker goes on as it was: it says why where it prints")
        }
        let next = try BrokerConnection.open(invocation)
        let greeting = try next.accepted(ObjectText(op: "sync"))
        let revision = greeting["revision"]?.integer.map { ", at revision \($0)" } ?? ""
        try console.output.line("the broker has begun anew\(revision)")
    }

    /// Whether the broker sends `bye` in time.
    private static func waitForFarewell(_ connection: BrokerConnection) -> Bool {
        let deadline = TimeLimit(seconds: patienceSeconds)
        while let left = deadline.milliseconds {
            do {
                if let line = try connection.nextLine(milliseconds: left), line.kind == .event("bye") {
                    return true
                }
            } catch {
                return true
            }
        }
        return false
    }
}
