/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef I82574_RSS_H
#define I82574_RSS_H

#include <linux/ethtool.h>

#include "i82574.h"

u32 i82574_get_rxfh_key_size(struct net_device *netdev);
u32 i82574_get_rxfh_indir_size(struct net_device *netdev);
int i82574_get_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh);
int i82574_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		    struct netlink_ext_ack *extack);
int i82574_get_rxfh_fields(struct net_device *netdev,
			   struct ethtool_rxfh_fields *fields);
void i82574_get_channels(struct net_device *netdev,
			 struct ethtool_channels *channels);
int i82574_set_channels(struct net_device *netdev,
			struct ethtool_channels *channels);

#endif /* I82574_RSS_H */
