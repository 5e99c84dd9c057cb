from irqlab.reproduce.paper import Tables


def findings(tables: Tables) -> list[str]:
    return []
