// `bench`: the row of the table. What it measures stands beside this file.

extension Command {
    static let bench = Command(
        name: "bench",
        group: .about,
        summary: "measure a broker that it starts itself",
        run: { _, _ in throw CommandError(.refused, "there is nothing to measure with yet") }
    )
}
