from irqlab.reproduce.paper import Tables


def sections(tables: Tables):
    return []
