// `status`, `clients` and `services`: how the bus is, who is on it, and who answers which calls.

import PlugboardMemory
import PlugboardWire

extension Command {
    static let status = Command(
        name: "status",
        group: .watch,
        summary: "show on one screen how the bus is, and what is wrong",
        options: [.json] + CommandOption.connection,
        details: """
            Shows the version, the socket, the broker's process, where the journal is and how large, the \
            keys, clients and plugins. At the end it says what is wrong: clients that read too slowly, \
            plugins that crash or say at NAME.health that they are not well, and the broker's warnings. The \
            status is 0 if nothing is wrong, 1 if something is, and 69 if there is no broker. --json prints \
            one object: its "problems" are those lines, its "health" is what programs tell at NAME.health.
            """,
        examples: ["status", "status --json | jq -r '.problems[]'"],
        run: { invocation, console in
            let report = try BusReport(try BrokerConnection.open(invocation))
            let text = StatusText(report: report, paint: console.output.paint)
            if invocation.has(.json) {
                try console.output.json(json(text))
            } else {
                for line in text.lines { try console.output.line(line) }
            }
            guard text.problems.isEmpty else { throw CommandError.told }
        }
    )

    static let clients = Command(
        name: "clients",
        group: .watch,
        summary: "list the clients, and what waits for each",
        options: [.json] + CommandOption.connection,
        details: """
            STATE: live, lagging (it reads too slowly) or paused. QUEUED is how many bytes wait for it in \
            the broker, OWED how many keys have a newest value that it hasn't got yet. LINES is how many \
            it sent, SENT how many bytes it was sent. SINCE is when it connected (UTC). This command itself \
            is left out. --json prints a line for each client.
            """,
        examples: ["clients", "clients --json | jq -r 'select(.state == \"lagging\").name'"],
        run: { invocation, console in
            let clients = try BrokerConnection.open(invocation).clients()
            if invocation.has(.json) { return try printJSON(clients, console) }
            guard !clients.isEmpty else { return try console.output.line("no other client is connected") }
            try print(ClientTable.table(clients), console)
        }
    )

    static let services = Command(
        name: "services",
        group: .watch,
        summary: "list what can be called, and who answers it",
        parameters: [
            CommandParameter("KEY", "only these: keys or patterns, such as cart.**; by default all", .any)
        ],
        options: [.json] + CommandOption.connection,
        details: """
            Lists what clients serve, and what plugins say in plugin.json that they serve although nobody \
            does now. A key that you name has a row also if nobody serves it. ASKED counts the calls since the service began, ANSWERED and \
            FAILED what became of them, MEAN and MAX how long answers took. "+1" after a server is one that waits \
            in line to take over; who KEY names it. --json has these times in \
            microseconds.
            """,
        examples: ["services", "services cart.add 'text.**'"],
        run: { invocation, console in
            let words = try KeyWords(invocation.arguments)
            let services = try ServiceList(try BrokerConnection.open(invocation), words).services
            if invocation.has(.json) {
                for service in services { try console.output.json(service.json) }
                return
            }
            guard !services.isEmpty else {
                return try console.output.line(
                    "nobody serves anything" + (words.words.isEmpty ? "" : " like that")
                )
            }
            try print(ServiceList.table(services), console)
        }
    )

    private static func print(_ table: TextTable, _ console: CommandConsole) throws {
        // No cell is cut where a program reads.
        let width = console.output.stream.columns ?? 10_000
        for line in table.lines(width: width, paint: console.output.paint) { try console.output.line(line) }
    }

    private static func printJSON(_ objects: [JSONObject], _ console: CommandConsole) throws {
        for object in objects {
            let text = object.members.reduce(ObjectWriter()) { $0.adding($1.name, json: $1.value.bytes) }
            try console.output.json(text.bytes)
        }
    }

    private static func health(_ told: [ProgramHealth]) -> ObjectWriter {
        told.reduce(ObjectWriter()) { object, program in
            let name = JSONText.encoded(program.name).dropFirst().dropLast()
            return object.adding(String(decoding: name, as: UTF8.self), json: program.json)
        }
    }

    private static func json(_ text: StatusText) -> [UInt8] {
        let report = text.report
        let journal = report.process.flatMap { OpenJournal(pid: $0) }
        return ObjectWriter().adding("socket", string: SystemText.shown(report.path))
            .adding("version", string: report.greeting?["version"]?.string)
            .adding("pid", report.figure("pid")).adding("uptime", report.figure("uptime"))
            .adding("memory", report.figure("memory"))
            .adding("journal", string: (journal?.folder).map(SystemText.shown)).adding(
                "journal_bytes", journal?.bytes
            )
            .adding("revision", report.figure("revision")).adding("keys", report.figure("keys"))
            .adding("clients", UInt64(report.clients.count))
            .adding("plugins", report.plugins.map { UInt64($0.count) })
            .adding("health", json: health(report.health).bytes)
            .adding("problems", strings: text.problems).bytes
    }
}

/// The clients in columns.
private enum ClientTable {
    static func table(_ clients: [JSONObject]) -> TextTable {
        let columns: [TextTable.Column] = [
            .init(title: "CLIENT", atEnd: true), .init(title: "NAME", givesWay: true),
            .init(title: "PID", atEnd: true, rank: 3), .init(title: "STATE"),
            .init(title: "SUBS", atEnd: true, rank: 4), .init(title: "LINES", atEnd: true, rank: 5),
            .init(title: "SENT", atEnd: true, rank: 6), .init(title: "QUEUED", atEnd: true, rank: 1),
            .init(title: "OWED", atEnd: true, rank: 2), .init(title: "SINCE", rank: 7),
        ]
        let rows = clients.map { client in
            TextTable.Row(
                cells: [
                    text(client, "client"), text(client, "name"), text(client, "pid"), text(client, "state"),
                    count(client, "subscriptions"), count(client, "lines"), bytes(client, "sent"),
                    bytes(client, "queued"), count(client, "owed"), text(client, "since"),
                ],
                isMarked: client["state"]?.string != "live"
            )
        }
        return TextTable(columns: columns, rows: rows)
    }

    private static func text(_ client: JSONObject, _ member: String) -> String {
        let value = client[member]
        return Printable.text(value?.string ?? value?.text ?? "-")
    }

    private static func count(_ client: JSONObject, _ member: String) -> String {
        client[member]?.integer.map(Amount.count) ?? "-"
    }

    private static func bytes(_ client: JSONObject, _ member: String) -> String {
        client[member]?.integer.map(Amount.bytes) ?? "-"
    }
}
