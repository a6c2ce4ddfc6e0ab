// `plugboard bench --siege`: reads its options, runs it, and prints what it shows. The exit status is 1
// if a row fails, and 64 for a row that isn't there.

import PlugboardPosix
import PlugboardWire

extension BenchProgram {
    /// Runs a siege to its end. Throws `BenchRefusal`.
    static func besiege(_ invocation: Invocation) throws {
        let siege = Siege(
            rows: try rows(invocation.text(.only)?.split(separator: ",").map(String.init)),
            runs: invocation.integer(.runs).map { Int($0) } ?? 1,
            scale: invocation.has(.small) ? .small : .full,
            keeping: invocation.has(.memory) ? .nothing : .journal,
            programs: try ownPrograms(),
            signals: try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        )
        let isJSON = invocation.has(.json)
        if !isJSON { try print(PageWidth.text(Machine.current().text) + "\n") }
        let results = try siege.run { if !isJSON { try print(SiegeTable.text(of: $0) + "\n") } }
        try print(isJSON ? SiegeTable.json(of: results) : SiegeTable.end(of: results, siege.scale))
        let failed = results.filter { !$0.faults.isEmpty }.map(\.row.name)
        if !failed.isEmpty { throw BenchRefusal(1, "others notice " + failed.joined(separator: ", ")) }
    }

    private static func rows(_ names: [String]?) throws -> [SiegeRow] {
        do {
            return try SiegeRow.chosen(names)
        } catch BenchError.unknownWorkload(let name) {
            throw unknown(name, among: SiegeRows.all.map(\.name))
        }
    }
}
